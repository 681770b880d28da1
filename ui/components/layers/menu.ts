import '@awesome.me/webawesome/dist/components/dropdown/dropdown.js'
import '@awesome.me/webawesome/dist/components/dropdown-item/dropdown-item.js'
import { html, nothing, type TemplateResult } from 'lit'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** An entry of a menu. */
export interface MenuItem {
  readonly label: string
  readonly icon?: string
  readonly action: () => void
  readonly danger?: boolean
  readonly disabled?: boolean
  /** A choice of several that is the present one. */
  readonly checked?: boolean
}

/** A button that opens a menu; without `trigger`, three dots. `label`: purpose of the button. */
export function menu(label: string, items: readonly MenuItem[], trigger?: TemplateResult): TemplateResult {
  const chosen = (event: Event): void => {
    const item = (event as CustomEvent<{ item: Element & { value?: string } }>).detail.item
    items[Number(item.value)]?.action()
  }
  return html`<wa-dropdown class="pb-menu" placement="bottom-end" @wa-select=${chosen}>
    ${trigger ?? html`<button type="button" slot="trigger" class="btn ghost sm ico" aria-label=${label} title=${label || t('More')}>${icon('ellipsis')}</button>`}
    ${items.map(
      (item, at) => html`<wa-dropdown-item value=${String(at)} variant=${item.danger ? 'danger' : 'default'}
        ?disabled=${item.disabled ?? false} type=${item.checked === undefined ? 'normal' : 'checkbox'} ?checked=${item.checked ?? false}
        >${item.icon === undefined ? nothing : html`<svg slot="icon" class="i" aria-hidden="true"><use href="${document.documentElement.dataset.sprite}#${item.icon}"></use></svg>`}${item.label}</wa-dropdown-item>`,
    )}
  </wa-dropdown>`
}
