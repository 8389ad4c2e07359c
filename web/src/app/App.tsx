import { QueryClientProvider } from "@tanstack/react-query";
import { TooltipLayer } from "../ui/parts/TooltipLayer";
import { Shell } from "../ui/shell/Shell";
import { AppProvider } from "./AppContext";
import type { Composition } from "./compose";

export function App({ app }: { app: Composition }) {
  return (
    <AppProvider value={app}>
      <QueryClientProvider client={app.queries}>
        <Shell />
        <TooltipLayer />
      </QueryClientProvider>
    </AppProvider>
  );
}
