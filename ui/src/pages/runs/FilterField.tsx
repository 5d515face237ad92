import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type RefObject, useDeferredValue, useId, useState } from "react";
import { type Context, contextOf, hasValues, type Option, optionsOf } from "../../data/completion";
import { nameCompletions, runValues } from "../../data/runQueries";

interface Props {
  workspace: string;
  field: RefObject<HTMLInputElement | null>;
  onAdd: (condition: string) => void;
}

/** One more condition, with what can follow. Tab or Enter take an option, Enter without one adds the condition. */
export function FilterField({ workspace, field, onAdd }: Props) {
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const id = useId();
  const options = useOptions(workspace, text, isOpen);

  function write(changed: string) {
    setText(changed);
    setOpen(true);
    setActive(-1);
  }

  function keys(event: KeyboardEvent) {
    const option = options[active];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!isOpen) setOpen(true);
      else setActive((active + (event.key === "ArrowDown" ? 1 : options.length) + (active < 0 && event.key === "ArrowUp" ? 1 : 0)) % Math.max(1, options.length));
    } else if (event.key === "Enter" && option && isOpen) write(option.text);
    else if (event.key === "Enter") {
      onAdd(text);
      write("");
      setOpen(false);
    } else if (event.key === "Tab" && isOpen && text && options.length > 0 && !event.shiftKey) write((option ?? options[0])?.text ?? text);
    else if (event.key === "Escape") {
      if (isOpen) setOpen(false);
      else field.current?.blur();
    } else return;
    event.preventDefault();
  }

  const isShown = isOpen && options.length > 0;
  return (
    <div className="field">
      <input
        ref={field}
        aria-label="Filter"
        role="combobox"
        aria-expanded={isShown}
        aria-controls={`${id}-options`}
        aria-autocomplete="list"
        aria-activedescendant={isShown && active >= 0 ? `${id}-${active}` : undefined}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder="Filter: metrics.loss < 0.2, status == Failed"
        value={text}
        onChange={(event) => write(event.target.value)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={keys}
      />
      <ul id={`${id}-options`} role="listbox" aria-label="Completions" className="popover options" hidden={!isShown}>
        {options.map((option, index) => (
          <li
            key={option.text}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onMouseDown={(event) => {
              event.preventDefault(); // the field keeps the focus
              write(option.text);
            }}
          >
            {option.label}
          </li>
        ))}
      </ul>
    </div>
  );
}

function useOptions(workspace: string, text: string, isOpen: boolean): Option[] {
  const context = useDeferredValue(contextOf(text));
  const isName = isOpen && context.expects === "name" ? context : null;
  const isValue = isOpen && context.expects === "value" && hasValues(context.field) ? context : null;
  const { data: names } = useQuery({ ...nameCompletions(workspace, isName?.kind ?? "", isName?.prefix ?? ""), enabled: isName !== null });
  const { data: values } = useQuery({ ...runValues(workspace, isValue?.field ?? "", isValue?.prefix ?? ""), enabled: isValue !== null });
  const current: Context = contextOf(text);
  return optionsOf(text, current, (isName ? names : isValue ? values : undefined) ?? []);
}
