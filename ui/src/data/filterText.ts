/** The text of a filter: its conditions, which are chips, and new ones. Pure. */

const WORDS = /'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|&&|\|\||[()]|[^\s()'"&|]+|[&|]/g;

/** Split at each `and` of the top level. */
function split(where: string): { parts: string[]; hasAlternatives: boolean } {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  let hasAlternatives = false;
  for (const { 0: word, index } of where.matchAll(WORDS)) {
    if (word === "(") depth += 1;
    else if (word === ")") depth -= 1;
    else if (depth === 0 && /^(or|\|\|)$/i.test(word)) hasAlternatives = true;
    else if (depth === 0 && /^(and|&&)$/i.test(word)) {
      parts.push(where.slice(start, index));
      start = index + word.length;
    }
  }
  return { parts: [...parts, where.slice(start)], hasAlternatives };
}

/** The conditions that must all hold: each becomes a chip. `or` at the top level binds weaker: that is one condition. */
export function conditionsOf(where: string): string[] {
  const { parts, hasAlternatives } = split(where);
  return (hasAlternatives ? [where] : parts).map((part) => part.trim()).filter(Boolean);
}

export function withCondition(where: string, condition: string): string {
  const [before, added] = [where.trim(), condition.trim()];
  return before && added ? `${guard(before)} and ${guard(added)}` : before || added;
}

export function withoutCondition(where: string, index: number): string {
  return conditionsOf(where)
    .filter((_, each) => each !== index)
    .join(" and ");
}

/** Alternatives need parentheses beside other conditions. */
function guard(text: string): string {
  return split(text).hasAlternatives ? `(${text})` : text;
}

/** A text as a value of the filter language. */
export function quote(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** A field of the filter language, such as `params.lr` or `params."learning rate"`. */
export function fieldOf(kind: string, name: string): string {
  if (!name) return kind;
  return `${kind}.${/^[\p{L}_\d.][\p{L}\p{N}_./:-]*$/u.test(name) ? name : quote(name)}`;
}

/** The condition under which runs share a value; without one, they lack the field. */
export function equals(kind: string, name: string, value: string | null): string {
  const field = fieldOf(kind, name);
  return value === null ? `not ${field}` : `${field} == ${quote(value)}`;
}
