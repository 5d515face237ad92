/** Markdown of users as safe HTML. Loaded when there is something to show. */
import DOMPurify from "dompurify";
import { marked } from "marked";

const ALLOWED = ["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"];

/** Return HTML with text, lists, tables, code and links to other pages: no script, no form, no picture, no style. */
export function safeHtml(markdown: string): string {
  const html = marked.parse(markdown, { async: false, gfm: true, breaks: true });
  const fragment = DOMPurify.sanitize(html, { ALLOWED_TAGS: ALLOWED, ALLOWED_ATTR: ["href", "title", "start", "align"], ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i, RETURN_DOM_FRAGMENT: true });
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  const holder = document.createElement("div");
  holder.append(fragment);
  return holder.innerHTML;
}
