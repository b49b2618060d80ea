import { createContext, useContext } from "react";

/** Opens a file of the conversation by name. */
export const OpenFileContext = createContext<(name: string) => void>(() => undefined);
export const useOpenFile = (): ((name: string) => void) => useContext(OpenFileContext);
