import { html, nothing } from 'lit'
import { type KeyScope, keysApi, type NewKey } from '../../api/keys.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { readAll } from '../../api/servers.ts'
import { type GroupRecord, refOf, type ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { drawer, hide } from '../../components/layers/layer.ts'
import { errorState } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'

const DAY_MS = 86_400_000

/**
 * Form for label, scopes and expiry of a new key.
 *
 * @fires pb-made - `detail: NewKey`
 *
 * @fires pb-close
 */
export class PbKeyForm extends PbElement {
  static override properties = {
    open: { type: Boolean },
    group: {},
    server: {},
    kind: { state: true },
    error: { state: true },
    saving: { state: true },
  }
  declare open: boolean
  /** Chosen from the beginning. */
  declare group: string | undefined
  declare server: string | undefined
  declare kind: 'mcp' | 'group' | 'server' | 'api:read' | 'api' | undefined
  declare error: ApiError | undefined
  declare saving: boolean
  readonly #groups = new Resource<readonly GroupRecord[]>(this, {
    key: () => (this.open ? 'open' : undefined),
    read: signal => readAll('/api/groups', {}, signal),
  })
  readonly #servers = new Resource<readonly ServerRecord[]>(this, {
    key: () => (this.open ? 'open' : undefined),
    read: signal => readAll('/api/servers', {}, signal),
  })

  get #kind(): NonNullable<PbKeyForm['kind']> {
    return this.kind ?? (this.group ? 'group' : this.server ? 'server' : 'mcp')
  }

  override render(): unknown {
    return drawer({
      open: this.open,
      title: t('New key'),
      body: this.open ? this.#body() : nothing,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="submit" form="key-form" class="btn pri" ?disabled=${this.saving || !live.reachable}>${this.saving ? t('Saving') : t('Make key')}</button>`,
      onClose: () => {
        this.kind = undefined
        this.error = undefined
        this.dispatchEvent(new CustomEvent('pb-close'))
      },
    })
  }

  #body(): unknown {
    const kind = this.#kind
    const label = this.error?.fields.find(({ pointer }) => pointer.endsWith('/label'))
    const expiry = this.error?.fields.find(({ pointer }) => pointer.endsWith('/expiresAt'))
    const kinds = [
      ['mcp', t('All of mine for MCP clients'), t('Every server and group that you may use, below /mcp.')],
      ['group', t('One group'), t('The tools of this group and nothing else.')],
      ['server', t('One server'), t('The tools of this server and nothing else.')],
      ['api:read', t('API, read only'), t('Reads what you may read, such as for Grafana.')],
      ['api', t('API'), t('Does what you may do, such as for a script.')],
    ] as const
    return html`<form id="key-form" class="stack l" @submit=${this.#submit}>${this.error ? errorState(this.error) : nothing}
      <div class="field"><label for="key-label">${t('Label')}</label><input id="key-label" name="label" class="in ${label ? 'err' : ''}" required maxlength="128" autocomplete="off" placeholder=${t('laptop, ci-nightly')} aria-invalid=${label ? 'true' : nothing}>
        ${label ? html`<p class="hint bad">${icon('circle-alert')}${fieldText(label)}</p>` : html`<p class="hint">${t('Who or what uses it.')}</p>`}</div>
      <fieldset class="field"><legend class="lbl">${t('May use')}</legend>${kinds.map(
        ([id, word, hint]) =>
          html`<label class="chk apart"><input type="radio" name="kind" value=${id} .checked=${kind === id} @change=${() => {
            this.kind = id
          }}><span>${word}<span class="cellsub">${hint}</span></span></label>`,
      )}</fieldset>
      ${
        kind === 'group'
          ? this.#select(
              'group',
              t('Group'),
              this.#groups.data?.map(({ ref }) => ref),
              this.group,
            )
          : nothing
      }
      ${kind === 'server' ? this.#select('server', t('Server'), this.#servers.data?.map(refOf), this.server) : nothing}
      <div class="field"><label for="key-days">${t('Expires')}</label><select id="key-days" name="days" class="in"><option value="30">${t('in 30 days')}</option><option value="90" selected>${t('in 90 days')}</option><option value="365">${t('in a year')}</option><option value="">${t('no expiry')}</option></select>${expiry ? html`<p class="hint bad">${icon('circle-alert')}${fieldText(expiry)}</p>` : nothing}</div></form>`
  }

  #select(name: string, label: string, refs: readonly string[] | undefined, chosen: string | undefined): unknown {
    return html`<div class="field"><label for="key-${name}">${label}</label><select id="key-${name}" name=${name} class="in" required>${
      refs?.length === 0 ? html`<option value="">${t('There is none yet')}</option>` : nothing
    }${refs?.map(ref => html`<option value=${ref} ?selected=${ref === chosen || ref.endsWith(`~${chosen}`)}>${ref}</option>`)}</select></div>`
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const data = new FormData(form)
    const text = (name: string): string => String(data.get(name) ?? '').trim()
    const kind = this.#kind
    const scope: KeyScope =
      kind === 'group' ? { group: text('group') } : kind === 'server' ? { server: text('server') } : kind
    const days = text('days')
    const expiry = days === '' ? {} : { expiresAt: new Date(Date.now() + Number(days) * DAY_MS).toISOString() }
    this.saving = true
    try {
      const made: NewKey = await keysApi.create({ label: text('label'), scopes: [scope], ...expiry })
      this.dispatchEvent(new CustomEvent('pb-made', { detail: made }))
      hide({ currentTarget: form } as unknown as Event)
    } catch (error) {
      this.error = asApiError(error)
    }
    this.saving = false
  }
}
customElements.define('pb-key-form', PbKeyForm)

declare global {
  interface HTMLElementTagNameMap {
    'pb-key-form': PbKeyForm
  }
}
