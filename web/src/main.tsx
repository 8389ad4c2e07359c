import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { compose } from "./app/compose";
import { live } from "./app/lifecycle";
import { listen } from "./app/serverEvents";
import "./styles/app.css";

const app = compose(window);
void live(window, app);
listen(document, app);

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App app={app} />
    </StrictMode>,
  );
}
