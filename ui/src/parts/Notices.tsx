import { problemOf } from "../data/errors";
import { dismiss, useNotices } from "../data/notices";

/** What was done, with its way back. */
export function Notices() {
  const notices = useNotices();
  return (
    <div className="notices" role="status" aria-label="Notices">
      {notices.map(({ id, text, error, undo }) => (
        <div key={id} className={error ? "note failed" : "note"}>
          <span>
            {text}
            {error ? <Reason error={error} /> : null}
          </span>
          {undo ? (
            <button
              type="button"
              onClick={() => {
                dismiss(id);
                undo();
              }}
            >
              Undo
            </button>
          ) : null}
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

function Reason({ error }: { error: unknown }) {
  const { message, hint } = problemOf(error);
  return (
    <>
      : {message}
      {hint ? <span className="soft hint">hint: {hint}</span> : null}
    </>
  );
}
