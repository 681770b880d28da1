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
import { quotaFields, quotaOf } from './quota-form.ts'

/** The quota of an access key, in a drawer. */
export class PbKeyQuota extends PbElement {
  static override properties = {
    subject: { attribute: false },
    error: { state: true },
    saving: { state: true },
  }
  declare subject: PieceSubject
  declare error: ApiError | undefined
  declare saving: boolean
  readonly #quota = new Resource<QuotaState>(this, {
    key: () => this.subject.ref,
    read: signal => usageApi.of(this.subject, signal),
  })

  override render(): unknown {
    return show(
      this.#quota,
      state => html`<form class="stack l" novalidate @submit=${this.#submit}><p class="s q">${t(
        'Calls with this key are refused when a number is reached. Empty fields limit nothing.',
      )}</p>${this.error && this.error.fields.length === 0 ? errorState(this.error) : nothing}${quotaFields('key-quota', state, this.error)}
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
customElements.define('pb-key-quota', PbKeyQuota)
