import type { Span } from "../../../data/run/ansi";

/** Text of a terminal with its colours. */
export function Spans({ spans }: { spans: Span[] }) {
  return spans.map((span, index) =>
    span.style ? (
      // spans have no other identity
      <span key={index} className={span.style}>
        {span.text}
      </span>
    ) : (
      span.text
    ),
  );
}
