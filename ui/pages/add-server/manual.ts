import { html, nothing } from 'lit'
import { PbElement } from '../../components/element.ts'
import { sandboxNote } from '../../components/servers/sandbox-note.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import type { Body } from './draft.ts'

/** Ways to add a server without pasting a configuration. */
export type Manual = 'program' | 'url' | 'openapi'

interface Field {
  readonly id: string
  readonly label: () => string
  readonly hint: () => string
  readonly optional?: true
  /** Rows of a text with lines; absent: one line. */
  readonly rows?: number
  readonly placeholder?: string
}

const NAME: Field = {
  id: 'name',
  label: () => t('Name'),
  hint: () => t('Unique among your servers.'),
  placeholder: 'github',
}
const FIELDS: Readonly<Record<Manual, readonly Field[]>> = {
  program: [
    NAME,
    {
      id: 'command',
      label: () => t('Program'),
      hint: () => t('Found on the path of the hub, or an absolute path.'),
      placeholder: 'npx',
    },
    {
      id: 'args',
      label: () => t('Arguments'),
      hint: () => t('One on each line, without quotes.'),
      optional: true,
      rows: 3,
      placeholder: '-y\n@modelcontextprotocol/server-memory',
    },
    {
      id: 'env',
      label: () => t('Environment'),
      hint: () => t('NAME=value, one on each line. Keys, tokens and passwords are sealed.'),
      optional: true,
      rows: 3,
      placeholder: 'API_KEY=…',
    },
    { id: 'cwd', label: () => t('Folder'), hint: () => t('Where the program starts.'), optional: true },
  ],
  url: [
    NAME,
    {
      id: 'url',
      label: () => t('Address'),
      hint: () => t('Streamable HTTP is tried first, then the older SSE.'),
      placeholder: 'https://mcp.example.com/mcp',
    },
    {
      id: 'headers',
      label: () => t('Headers'),
      hint: () => t('Name: value, one on each line. Authorization and keys are sealed.'),
      optional: true,
      rows: 3,
      placeholder: 'Authorization: Bearer …',
    },
  ],
  openapi: [
    NAME,
    {
      id: 'document',
      label: () => t('Document'),
      hint: () => t('Its address, or the OpenAPI document itself as JSON or YAML.'),
      rows: 6,
      placeholder: 'https://api.example.com/openapi.json',
    },
    {
      id: 'baseUrl',
      label: () => t('Base address'),
      hint: () => t('Where calls go, if not to the first server of the document.'),
      optional: true,
    },
    {
      id: 'include',
      label: () => t('Only these operations'),
      hint: () => t('Operation ids, one on each line; empty: all.'),
      optional: true,
      rows: 2,
    },
  ],
}

/**
 * The form of one way to add a server.
 *
 * @fires pb-body - `detail: Body`, when it is filled in and sent
 */
export class PbManualForm extends PbElement {
  static override properties = { kind: {}, missing: { state: true } }
  declare kind: Manual
  /** Ids of fields that must be filled in. */
  declare missing: readonly string[]

  override render(): unknown {
    return html`<section class="card"><form class="cb stack l padt" novalidate @submit=${this.#submit}>
      ${this.kind === 'program' ? sandboxNote() : nothing}${FIELDS[this.kind].map(field => this.#field(field))}
      <div><button class="btn pri">${t('Go on')}</button></div></form></section>`
  }

  #field({ id, label, hint, optional, rows, placeholder }: Field): unknown {
    const missing = (this.missing ?? []).includes(id)
    const input = `manual-${id}`
    const kind = `in ${id === 'name' ? '' : 'code'} ${missing ? 'err' : ''}`
    return html`<div class="field"><label class="lbl" for=${input}>${label()}${optional ? html`<span class="o">${t('optional')}</span>` : nothing}</label>${
      rows === undefined
        ? html`<input id=${input} name=${id} class=${kind} autocomplete="off" spellcheck="false" aria-describedby="${input}-hint" aria-invalid=${missing ? 'true' : nothing} placeholder=${placeholder ?? nothing}>`
        : html`<textarea id=${input} name=${id} class=${kind} rows=${rows} spellcheck="false" aria-describedby="${input}-hint" aria-invalid=${missing ? 'true' : nothing} placeholder=${placeholder ?? nothing}></textarea>`
    }<p class="hint ${missing ? 'bad' : ''}" id="${input}-hint">${missing ? html`${icon('circle-x')}${t('This is needed.')}` : hint()}</p></div>`
  }

  readonly #submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const value = (name: string): string => String(form.get(name) ?? '').trim()
    this.missing = FIELDS[this.kind].filter(({ id, optional }) => !optional && value(id) === '').map(({ id }) => id)
    if (this.missing.length > 0) {
      void this.updateComplete.then(() => this.querySelector<HTMLElement>(`#manual-${this.missing[0]}`)?.focus())
      return
    }
    this.dispatchEvent(new CustomEvent('pb-body', { detail: bodyOf(this.kind, value), bubbles: true }))
  }
}
customElements.define('pb-manual-form', PbManualForm)

function bodyOf(kind: Manual, value: (name: string) => string): Body {
  const name = value('name')
  if (kind === 'program') {
    const cwd = value('cwd')
    return {
      name,
      command: value('command'),
      args: linesOf(value('args')),
      env: pairs(value('env'), '='),
      ...(cwd === '' ? {} : { cwd }),
    }
  }
  if (kind === 'url') return { name, url: value('url'), headers: pairs(value('headers'), ':') }
  const document = value('document')
  const baseUrl = value('baseUrl')
  const include = linesOf(value('include'))
  const source = /^https?:\/\/\S+$/.test(document) ? { url: document } : { schema: document }
  return {
    name,
    openapi: {
      ...source,
      ...(baseUrl === '' ? {} : { baseUrl }),
      ...(include.length === 0 ? {} : { operations: { include } }),
    },
  }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
}

function pairs(text: string, mark: string): Record<string, string> {
  const entries = linesOf(text).map(line => {
    const at = line.indexOf(mark)
    return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
  })
  return Object.fromEntries(entries)
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-manual-form': PbManualForm
  }
}
