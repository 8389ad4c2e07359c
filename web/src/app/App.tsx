import { QueryClientProvider } from "@tanstack/react-query";
import { TooltipProvider } from "../ui/parts/Tooltip";
import { Shell } from "../ui/shell/Shell";
import { AppProvider } from "./AppContext";
import type { Composition } from "./compose";

export function App({ app }: { app: Composition }) {
  return (
    <AppProvider value={app}>
      <QueryClientProvider client={app.queries}>
        <TooltipProvider delayDuration={500}>
          <Shell />
        </TooltipProvider>
      </QueryClientProvider>
    </AppProvider>
  );
}
