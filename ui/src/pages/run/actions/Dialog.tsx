import { useEffect, useId, useRef } from "react";

interface Props {
  title: string;
  onClose: () => void;
  children: React.ReactNode;
}

/** A dialog over the page: the browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, children }: Props) {
  const place = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = place.current;
    if (!dialog?.open) dialog?.showModal();
  }, []);
  return (
    <dialog ref={place} className="dialog" aria-labelledby={heading} onClose={onClose}>
      <div className="tools">
        <h2 id={heading}>{title}</h2>
        <span className="space" />
        <button type="button" className="quiet" aria-label="Close" onClick={() => place.current?.close()}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}
