import { html, nothing, type TemplateResult } from 'lit'

const sprite = (): string => document.documentElement.dataset.sprite ?? ''

/**
 * An icon of the sprite, by its lucide name. The build adds every icon to the sprite whose name is in quotes in the sources.
 * `label`: text for screen readers; without one the icon is decoration.
 */
export function icon(name: string, options: { readonly label?: string; readonly class?: string } = {}): TemplateResult {
  const { label } = options
  return html`<svg class="i ${options.class ?? ''}" role=${label === undefined ? nothing : 'img'}
    aria-label=${label ?? nothing} aria-hidden=${label === undefined ? 'true' : nothing}><use href="${sprite()}#${name}"></use></svg>`
}
