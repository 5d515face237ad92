import { createContext } from "react";

/** Whether the table moves at the moment: then its rows request nothing. */
export const IsScrolling = createContext(false);
