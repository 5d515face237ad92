import { useEffect, useRef, useState } from "react";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  onType: (value: string) => void;
}

const PAUSE_MILLISECONDS = 200;

/** A field whose text reaches the address after a pause, so that no letter waits for a request. */
export function Typed({ label, placeholder, value, onType }: Props) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const timer = useRef(0);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value; // somebody else changed it: back, forward, a link
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  function type(typed: string) {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      sent.current = typed;
      onType(typed);
    }, PAUSE_MILLISECONDS);
  }
  return <input type="search" aria-label={label} placeholder={placeholder} value={text} onChange={({ target }) => type(target.value)} />;
}
