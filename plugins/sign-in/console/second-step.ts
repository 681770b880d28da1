import { html, nothing } from 'lit'
import { type CodeForm, icon, t } from 'patchbay/console'
import { hasPasskeys } from './ask-passkey.ts'

/** The form of a code of an authenticator app, of a passkey, or of a recovery code. */
export function codeForm(form: CodeForm): unknown {
  const { methods } = form.asked
  const hasApp = methods.includes('totp')
  const hasPasskey = methods.includes('passkey')
  if (form.byRecovery || !(hasApp || hasPasskey)) return recoveryForm(form, hasApp || hasPasskey)
  return hasApp ? appForm(form, hasPasskey) : passkeyForm(form)
}

function appForm(form: CodeForm, hasPasskey: boolean): unknown {
  const field = html`<label class="lbl" for="code">${t('Code of your app')}</label><input id="code" name="code" class="in big code" inputmode="numeric" autocomplete="one-time-code" maxlength="7" required autofocus>`
  const text = t('Open your authenticator app, and enter the six digits that it shows for this hub.')
  const passkey =
    hasPasskey && hasPasskeys()
      ? html`<button type="button" class="btn full" ?disabled=${form.busy} @click=${form.byPasskey}>${icon('fingerprint')}${t('Use a passkey')}</button>`
      : nothing
  return entered(form, text, field, html`${passkey}${toRecovery(form)}`)
}

function recoveryForm(form: CodeForm, hasOther: boolean): unknown {
  const field = html`<label class="lbl" for="code">${t('Recovery code')}</label><input id="code" name="code" class="in big code" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="64" required autofocus>`
  const text = t('One of the ten that you have stored. It counts once.')
  const label = form.asked.methods.includes('totp') ? t('Use the app') : t('Use a passkey')
  const back = html`<button type="button" class="btn ghost full" @click=${form.other}>${label}</button>`
  return entered(form, text, field, hasOther ? back : nothing)
}

function passkeyForm(form: CodeForm): unknown {
  const { busy, wait, problem, byPasskey } = form
  const text = hasPasskeys()
    ? t('Unlock the passkey that you have set for this hub.')
    : t('Passkeys work at the name of the hub with https, not at this address.')
  return html`<div class="stack l"><p class="s q">${text}</p>${problem}
    ${hasPasskeys() ? html`<button type="button" class="btn pri big full" ?disabled=${busy || wait > 0} autofocus @click=${byPasskey}>${icon('fingerprint')}${busy ? t('Checking') : wait > 0 ? t('Wait {n} s', { n: wait }) : t('Use a passkey')}</button>` : nothing}
    ${toRecovery(form)}</div>`
}

function entered({ busy, wait, problem, submit }: CodeForm, text: string, field: unknown, others: unknown): unknown {
  return html`<form class="stack l" @submit=${(event: SubmitEvent) => {
    event.preventDefault()
    submit(String(new FormData(event.target as HTMLFormElement).get('code')))
  }}><p class="s q">${text}</p>
    <div class="field">${field}</div>${problem}
    <button class="btn pri big full" ?disabled=${busy || wait > 0}>${busy ? t('Checking') : wait > 0 ? t('Wait {n} s', { n: wait }) : t('Go on')}</button>
    ${others}</form>`
}

function toRecovery({ asked, other }: CodeForm): unknown {
  if (!asked.methods.includes('recovery')) return nothing
  return html`<button type="button" class="btn ghost full" @click=${other}>${t('Use a recovery code')}</button>`
}
