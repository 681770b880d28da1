import { html, nothing } from 'lit'
import { icon, t } from 'patchbay/console'
import { localized, type TemplateInput } from './api.ts'

/** The field of one input of a template, with its label, description and format. `id`: unique on the page. */
export function inputField(id: string, input: TemplateInput, value: string, changed: (value: string) => void): unknown {
  const { name, label, secret, required, description } = input
  const described = localized(description)
  return html`<div class="field"><label class="lbl" for=${id}>${label === name ? nothing : html`<span lang="en">${label}</span> `}<code>${name}</code>${
    secret ? html`<span class="tag">${icon('lock')}${t('Secret')}</span>` : nothing
  }${required ? nothing : html`<span class="o">${t('optional')}</span>`}</label>${control(id, input, value, changed)}<p class="hint" id=${`${id}-hint`}>${described}</p></div>`
}

function control(
  id: string,
  { format, choices, secret, required, placeholder }: TemplateInput,
  value: string,
  changed: (value: string) => void,
): unknown {
  const set = (event: Event): void => changed((event.target as HTMLInputElement | HTMLSelectElement).value)
  const offered = choices ?? (format === 'boolean' && !secret ? ['true', 'false'] : undefined)
  if (offered) {
    return html`<select id=${id} class="in" aria-required=${required === true} aria-describedby=${`${id}-hint`} @change=${set}><option value=""></option>${offered.map(
      choice => html`<option ?selected=${choice === value}>${choice}</option>`,
    )}</select>`
  }
  return html`<input id=${id} class="in code" type=${secret ? 'password' : 'text'} inputmode=${format === 'number' ? 'decimal' : nothing} placeholder=${placeholder ?? nothing}
    aria-required=${required === true} aria-describedby=${`${id}-hint`} autocomplete="off" spellcheck="false" .value=${value} @input=${set}>`
}
