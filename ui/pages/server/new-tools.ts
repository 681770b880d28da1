import { html } from 'lit'
import { api } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { refOf, serverPath } from '../../api/servers.ts'
import type { ServerRecord, ToolRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { PbElement } from '../../components/element.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorText } from '../../components/states.ts'
import { t } from '../../text/t.ts'

/** The switch for tools that the server adds later. Those that it has now stay on or off, each by its own switch. */
export class PbNewTools extends PbElement {
  static override properties = { server: { attribute: false }, tools: { attribute: false }, busy: { state: true } }
  declare server: ServerRecord
  declare tools: readonly ToolRecord[]
  declare busy: boolean

  constructor() {
    super()
    this.busy = false
  }

  override render(): unknown {
    const disabled = this.busy || !live.reachable || this.server.origin === 'file'
    return html`<label class="row newtools" title=${t('Whether tools that the server adds later are on. Those that it has now stay as they are.')}><input type="checkbox" role="switch" class="sw" ?disabled=${disabled} .checked=${this.server.toolsDefault !== 'off'}
      @change=${(event: Event) => void this.#set(event.target as HTMLInputElement)}>${t('New tools are on')}</label>`
  }

  async #set(input: HTMLInputElement): Promise<void> {
    const isOn = input.checked
    // Only those that the old default decided need a switch of their own now.
    const kept = this.tools.filter(({ enabled }) => (enabled === false) === isOn)
    const tools = Object.fromEntries(kept.map(({ original, name }) => [String(original ?? name), { enabled: !isOn }]))
    this.busy = true
    try {
      const after = await api.patch<ServerRecord>(serverPath(refOf(this.server)), {
        body: { toolsDefault: isOn ? 'on' : 'off', tools },
        revision: this.server.revision,
      })
      this.dispatchEvent(new CustomEvent('pb-server', { detail: after, bubbles: true }))
      toast(isOn ? t('Tools that the server adds are on') : t('Tools that the server adds stay off'))
    } catch (error) {
      input.checked = !isOn
      toast(errorText(asApiError(error)))
    } finally {
      this.busy = false
    }
  }
}
customElements.define('pb-new-tools', PbNewTools)

declare global {
  interface HTMLElementTagNameMap {
    'pb-new-tools': PbNewTools
  }
}
