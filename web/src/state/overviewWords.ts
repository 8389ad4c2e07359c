const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** Say a number of bytes so that it can be read. */
export function bytesInWords(bytes: number, locale?: string): string {
  const step = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  const value = bytes / 1000 ** step;
  const digits = step === 0 || value >= 100 ? 0 : 1;
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value);
  return step === 0 && bytes === 1 ? "1 byte" : `${number} ${UNITS[step]}`;
}
