import { html, nothing, type TemplateResult } from 'lit'

const sprite = (): string => document.documentElement.dataset.sprite ?? ''

/**
 * An icon of the sprite, by its lucide name. The build puts every icon into the sprite whose name stands between quotes in
 * the sources. `label`: what it says to those who do not see it; without one it is decoration.
 */
export function icon(name: string, options: { readonly label?: string; readonly class?: string } = {}): TemplateResult {
  const { label } = options
  return html`<svg class="i ${options.class ?? ''}" role=${label === undefined ? nothing : 'img'}
    aria-label=${label ?? nothing} aria-hidden=${label === undefined ? 'true' : nothing}><use href="${sprite()}#${name}"></use></svg>`
}
