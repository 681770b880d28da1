import '@awesome.me/webawesome/dist/components/dialog/dialog.js'
import '@awesome.me/webawesome/dist/components/drawer/drawer.js'
import { html, nothing, type TemplateResult } from 'lit'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** A layer over the page. */
export interface LayerOptions {
  readonly open: boolean
  readonly title: string
  readonly body: unknown
  /** Part that must stay in view below the body. */
  readonly foot?: unknown
  /** Called when the layer has closed, for any reason. */
  readonly onClose: () => void
}

/** A dialog: one question in the middle of the page. Focus returns to what opened it. */
export function dialog(options: LayerOptions): TemplateResult {
  return html`<wa-dialog class="pb-dialog" without-header label=${options.title} ?open=${options.open}
    @wa-after-hide=${closed(options)}>${content(options)}</wa-dialog>`
}

/** A drawer at the right, a whole sheet on a phone. */
export function drawer(options: LayerOptions): TemplateResult {
  return html`<wa-drawer class="pb-drawer" without-header placement="end" label=${options.title} ?open=${options.open}
    @wa-after-hide=${closed(options)}>${content(options)}</wa-drawer>`
}

function closed({ onClose }: LayerOptions): (event: Event) => void {
  // Layers in the layer, such as menus, emit the same event.
  return event => {
    if (event.target === event.currentTarget) onClose()
  }
}

function content({ open, title, body, foot }: LayerOptions): unknown {
  if (!open) return nothing
  return html`<div class="layer"><header class="dh"><h2>${title}</h2><button type="button" class="btn ghost ico push"
      aria-label=${t('Close')} @click=${hide}>${icon('x')}</button></header><div class="body">${body}</div>${
        foot === undefined ? nothing : html`<footer class="dfoot">${foot}</footer>`
      }</div>`
}

/** Closes the layer around the element of an event. */
export function hide(event: Event): void {
  const layer = (event.currentTarget as Element).closest('wa-dialog, wa-drawer') as (Element & { open: boolean }) | null
  if (layer) layer.open = false
}
