import { html, nothing, type PropertyDeclarations, type TemplateResult } from 'lit'
import { router } from '../app/router.ts'
import { PbElement } from './element.ts'

/** A step of the way to a page, the last one being the page itself. */
export interface Crumb {
  readonly label: string
  /** Absent for the page itself. */
  readonly path?: string
}

/**
 * Base of the pages. A page renders its content by {@link content}, between the heading and the end of the page; the frame
 * takes the way to it and the title of the tab from {@link crumbs}.
 */
export abstract class PbPage extends PbElement {
  static override properties: PropertyDeclarations = { params: { attribute: false }, query: { attribute: false } }
  /** Parameters of the path, such as `ref`. */
  declare params: Readonly<Record<string, string>>
  /** The query of the address: the view. */
  declare query: URLSearchParams

  /** The way here. The last label is the page's heading and the tab's title. */
  abstract crumbs(): readonly Crumb[]

  /** Buttons beside the heading, the primary one last. */
  actions(): unknown {
    return nothing
  }

  /** Behind the heading, such as a state. */
  headNote(): unknown {
    return nothing
  }

  abstract content(): unknown

  /** A value of the query. */
  protected view(name: string): string | undefined {
    return this.query.get(name) ?? undefined
  }

  /** Changes the view in the address. */
  protected setView(
    changes: Readonly<Record<string, string | undefined>>,
    options?: { readonly push?: boolean },
  ): void {
    router.setQuery(changes, options)
  }

  override render(): TemplateResult {
    const crumbs = this.crumbs()
    const title = crumbs.at(-1)?.label ?? ''
    return html`<main id="main" class="page" tabindex="-1">
      <div class="head"><h1 tabindex="-1">${title}</h1>${this.headNote()}<div class="acts">${this.actions()}</div></div>
      ${this.content()}</main>`
  }

  protected override updated(): void {
    const crumbs = this.crumbs()
    document.title = `${[...crumbs]
      .reverse()
      .map(({ label }) => label)
      .join(' · ')} · Patchbay`
    this.dispatchEvent(new CustomEvent('pb-crumbs', { detail: crumbs, bubbles: true }))
  }
}

/** Tabs as links, one of which is the present one. `n`: a count after the label. */
export function tabs(
  label: string,
  entries: readonly { readonly id: string; readonly label: string; readonly n?: number | undefined }[],
  present: string,
  link: (id: string) => string,
): TemplateResult {
  return html`<nav class="tabs" aria-label=${label} @keydown=${moveAmongLinks}>${entries.map(
    ({ id, label: word, n }) =>
      html`<a href=${link(id)} aria-current=${id === present ? 'page' : nothing}>${word}${
        n === undefined ? nothing : html` <span class="n">${n}</span>`
      }</a>`,
  )}</nav>`
}

/** Arrow keys move along a row of links or buttons. */
export function moveAmongLinks(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined) return
  const all = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>('a[href], button:not([disabled])')]
  const at = all.indexOf(document.activeElement as HTMLElement)
  if (at < 0) return
  event.preventDefault()
  all[(at + step + all.length) % all.length]?.focus()
}

/** Buttons for a choice of few; one is pressed. */
export function segments<T extends string>(
  label: string,
  entries: readonly { readonly id: T; readonly label: string }[],
  present: T,
  choose: (id: T) => void,
  size: 'sm' | 'm' = 'm',
): TemplateResult {
  return html`<div class="seg ${size === 'sm' ? 'sm' : ''}" role="group" aria-label=${label}>${entries.map(
    ({ id, label: word }) =>
      html`<button type="button" aria-pressed=${id === present ? 'true' : 'false'} @click=${() => choose(id)}>${word}</button>`,
  )}</div>`
}
