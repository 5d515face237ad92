import { useState } from "react";
import type { RunView } from "../../../api/types.gen";
import { recipesOf } from "../../../data/run/commands";
import { CopyButton } from "../../../parts/CopyButton";

/** The command line or the Python that does the same as the page. */
export function Recipes({ run }: { run: RunView }) {
  const recipes = recipesOf(run);
  const [title, setTitle] = useState(recipes[0]?.title ?? "");
  const text = recipes.find((recipe) => recipe.title === title)?.text ?? "";
  return (
    <section className="card" aria-label="Copy">
      <h2>Copy</h2>
      <select aria-label="What to copy" value={title} onChange={({ target }) => setTitle(target.value)}>
        {recipes.map((recipe) => (
          <option key={recipe.title}>{recipe.title}</option>
        ))}
      </select>
      <pre className="recipe">{text}</pre>
      <CopyButton text={text} />
    </section>
  );
}
