import { html, nothing } from 'lit'
import type { AskedProof } from '../../app/session.ts'
import { t } from '../../text/t.ts'

/** Parts of the form of a code. */
export interface CodeForm {
  readonly asked: AskedProof
  /** True when a recovery code is entered in place of one of the app. */
  readonly byRecovery: boolean
  readonly busy: boolean
  /** Seconds until the next attempt is allowed. */
  readonly wait: number
  readonly problem: unknown
  readonly submit: (code: string) => void
  /** Changes between the app and recovery codes. */
  readonly other: () => void
}

/** The form of a code of an authenticator app, or of a recovery code. */
export function codeForm({ asked, byRecovery, busy, wait, problem, submit, other }: CodeForm): unknown {
  const field = byRecovery
    ? html`<label class="lbl" for="code">${t('Recovery code')}</label><input id="code" name="code" class="in big code" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="64" required autofocus>`
    : html`<label class="lbl" for="code">${t('Code of your app')}</label><input id="code" name="code" class="in big code" inputmode="numeric" autocomplete="one-time-code" maxlength="7" required autofocus>`
  const change = byRecovery ? t('Use the app') : t('Use a recovery code')
  return html`<form class="stack l" @submit=${(event: SubmitEvent) => {
    event.preventDefault()
    submit(String(new FormData(event.target as HTMLFormElement).get('code')))
  }}><p class="s q">${byRecovery ? t('One of the ten that you have stored. It counts once.') : t('Open your authenticator app, and enter the six digits that it shows for this hub.')}</p>
    <div class="field">${field}</div>${problem}
    <button class="btn pri big full" ?disabled=${busy || wait > 0}>${busy ? t('Checking') : wait > 0 ? t('Wait {n} s', { n: wait }) : t('Go on')}</button>
    ${asked.methods.includes('recovery') ? html`<button type="button" class="btn ghost full" @click=${other}>${change}</button>` : nothing}</form>`
}
