import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  errorState,
  hide,
  live,
  PbElement,
  type PieceSubject,
  Resource,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type QuotaState, usageApi } from './api.ts'
import { quotaBars, quotaFields, quotaOf } from './quota-form.ts'

/** The quota of an access key, a client or a user, in a drawer. */
export class PbOneQuota extends PbElement {
  static override properties = {
    subject: { attribute: false },
    error: { state: true },
    saving: { state: true },
  }
  declare subject: PieceSubject
  declare error: ApiError | undefined
  declare saving: boolean
  readonly #quota = new Resource<QuotaState>(this, {
    key: () => [this.subject.kind, this.subject.ref],
    read: signal => usageApi.of(this.subject, signal),
    everyMs: 10_000,
  })

  override render(): unknown {
    return show(
      this.#quota,
      state => html`<form class="stack l" novalidate @submit=${this.#submit}><p class="s q">${introOf(this.subject)}</p>${behindOf(state)}${this.error && this.error.fields.length === 0 ? errorState(this.error) : nothing}${quotaFields(`${this.subject.kind}-quota`, state, this.error)}
      <div class="row end"><button type="button" class="btn" @click=${hide}>${t('Cancel')}</button><button type="submit" class="btn pri" ?disabled=${this.saving || !live.reachable}>${this.saving ? t('Saving') : t('Save')}</button></div></form>`,
    )
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    this.saving = true
    this.error = undefined
    try {
      this.#quota.set(await usageApi.set(this.subject, { quota: quotaOf(form) }))
      toast(t('The quota of {name} is saved', { name: this.subject.name }))
      hide({ currentTarget: form } as unknown as Event)
    } catch (error) {
      this.error = asApiError(error)
    }
    this.saving = false
  }
}

function introOf({ kind, name }: PieceSubject): string {
  if (kind === 'key')
    return t(
      'Calls with this key, and with keys that it makes, are refused when a number is reached. Empty fields limit nothing.',
    )
  if (kind === 'grant')
    return t('Calls of this app for you are refused when a number is reached. Empty fields limit nothing.')
  return t(
    'Calls of {name} are refused when a number is reached. Without a number here the limits for all users hold.',
    { name },
  )
}

/** Quotas of other keys against which the calls of a key count, too. */
function behindOf({ behind = [] }: QuotaState): unknown {
  return behind.map(
    ({ id, label, quota, used }) =>
      html`<section class="stack"><h3 class="s">${label === undefined ? t('Calls count for the deleted key {id} too', { id: id.slice(0, 8) }) : t('Calls count for the key {name} too', { name: label })}</h3>${quota ? quotaBars(quota, used) : nothing}</section>`,
  )
}
customElements.define('pb-one-quota', PbOneQuota)
