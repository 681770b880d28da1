import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { refOf, serverPath } from '../../api/servers.ts'
import type { ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { PbElement } from '../../components/element.ts'
import { serverWarning } from '../../components/hub-words.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

interface FormWarning {
  readonly code: string
  readonly message: string
  /** Fields of the server as a JSON Merge Patch. */
  readonly suggestion?: Readonly<Record<string, unknown>>
}

/** Warns that the program or the address of a server is in a wrong form, and offers the right one. */
export class PbRightForm extends PbElement {
  static override properties = { server: { attribute: false }, busy: { state: true } }
  declare server: ServerRecord
  declare busy: boolean

  constructor() {
    super()
    this.busy = false
  }

  override render(): unknown {
    const { warnings = [] } = this.server.status as { readonly warnings?: readonly FormWarning[] }
    const form = warnings.find(({ code }) => code === 'wrong_form')
    if (!form) return nothing
    const { suggestion } = form
    return html`<div class="callout warn" role="status">${icon('triangle-alert')}<div class="grow stack t"><p>${serverWarning(form)}</p>
      ${
        suggestion === undefined
          ? nothing
          : html`<pre class="code wrap" translate="no">${JSON.stringify(written(suggestion))}</pre>
      <div><button type="button" class="btn" ?disabled=${this.busy || !live.reachable} @click=${() => void this.#apply(suggestion)}>${t('Use this form')}</button></div>`
      }</div></div>`
  }

  async #apply(suggestion: Readonly<Record<string, unknown>>): Promise<void> {
    this.busy = true
    try {
      const after = await api.patch<ServerRecord>(serverPath(refOf(this.server)), {
        body: suggestion,
        revision: this.server.revision,
      })
      this.dispatchEvent(new CustomEvent('pb-server', { detail: after, bubbles: true }))
      toast(t('Saved in the right form'))
    } catch (error) {
      toast(errorText(asApiError(error)))
    } finally {
      this.busy = false
    }
  }
}
customElements.define('pb-right-form', PbRightForm)

/** The fields that the server gets; those that it loses are left out. */
function written(suggestion: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(suggestion).filter(([, value]) => value !== null))
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-right-form': PbRightForm
  }
}
