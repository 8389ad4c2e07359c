/** The shape of something that is being read. */
export function Skeleton({ className = "" }: { className?: string }) {
  return <div aria-hidden="true" className={`pulses rounded-control bg-line ${className}`} />;
}
