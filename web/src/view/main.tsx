import "../styles/tokens.css";
import "../styles/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { realBrowser } from "../store/browser";
import { createStore } from "../store/store";
import { Boundary } from "./parts/Boundary";
import { App } from "./shell/App";
import { StoreContext } from "./store";

const place = document.getElementById("page");
if (place) {
  const store = createStore(realBrowser(), String(import.meta.env.VITE_PAGE_VERSION ?? ""));
  createRoot(place).render(
    <StrictMode>
      <StoreContext value={store}>
        <Boundary>
          <App />
        </Boundary>
      </StoreContext>
    </StrictMode>,
  );
}
