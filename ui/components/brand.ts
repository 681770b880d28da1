import { html, type TemplateResult } from 'lit'

/** The mark: a cord around a jack, ending in a plug. */
export function brandMark(): TemplateResult {
  return html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path class="cord" d="M6 17V9.2a6.4 6.4 0 1 1 6.4 6.4"/><circle
    class="jack" cx="12.4" cy="9.2" r="2.3"/><rect class="plug" x="3.9" y="16.6" width="4.2" height="5.4" rx="1.2"/></svg>`
}
