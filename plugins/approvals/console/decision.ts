import { html, nothing } from 'lit'
import { asApiError, errorText, icon, live, plural, t, toast } from 'patchbay/console'
import { type Approval, approvalsApi } from './api.ts'

/** A request with everything that is known of it, and the buttons of the one who decides. `done`: called after a decision. */
export function decisionCard(approval: Approval, done: () => void): unknown {
  const { tool, server, group, caller, client, count, createdAt, expiresAt, note, team } = approval
  return html`<section class="card"><div class="ch"><h2 class="mono">${tool}</h2><div class="r">${stateWord(approval)}</div></div>
    <div class="cb stack"><dl class="kv">${server === undefined ? nothing : html`<dt>${t('Server')}</dt><dd>${server.replace('~', ' / ')}</dd>`}
      ${group === undefined ? nothing : html`<dt>${t('Group')}</dt><dd>${group.replace('~', ' / ')}</dd>`}
      <dt>${t('Caller')}</dt><dd>${caller}${client === '' ? nothing : html` <span class="q">${t('with {client}', { client })}</span>`}</dd>
      ${team === undefined ? nothing : html`<dt>${t('Decided by the team')}</dt><dd>${team}</dd>`}
      <dt>${t('Asked')}</dt><dd><pb-time .at=${createdAt}></pb-time>${count > 1 ? html` <span class="tag line">${plural(count, '{n} equal call', '{n} equal calls')}</span>` : nothing}</dd>
      ${approval.state === 'pending' ? html`<dt>${t('Denied automatically')}</dt><dd><pb-time .at=${expiresAt}></pb-time></dd>` : nothing}
      ${note === undefined ? nothing : html`<dt>${t('Note')}</dt><dd>${note}</dd>`}</dl>
      ${approval.arguments === undefined ? nothing : html`<pb-json .value=${approval.arguments} label=${t('Arguments')}></pb-json>`}
      ${approval.mayDecide ? buttons(approval, done) : nothing}</div></section>`
}

/** The state in words, with its icon. */
export function stateWord({ state, decidedBy = '', reason }: Approval): unknown {
  if (state === 'approved')
    return html`<span class="row">${icon('circle-check')}${t('allowed by {name}', { name: decidedBy })}</span>`
  if (state === 'denied') {
    const text = decidedBy === '' ? t('denied') : t('denied by {name}', { name: decidedBy })
    return html`<span class="row bad">${icon('circle-x')}${text}</span>`
  }
  if (state === 'expired') {
    return html`<span class="row q">${icon('clock')}${endText(reason)}</span>`
  }
  return html`<span class="row">${icon('clock')}${t('waits')}</span>`
}

function endText(reason: Approval['reason']): string {
  if (reason === 'access_ended') return t('denied, since the access to the tool ended')
  return reason === 'restart' ? t('denied, since the hub was restarted') : t('nobody decided in time')
}

function buttons({ id, tool, rememberSeconds }: Approval, done: () => void): unknown {
  const decide = async (decision: 'approve' | 'deny', remember = false): Promise<void> => {
    try {
      await approvalsApi.decide(id, remember ? { decision, remember } : { decision })
      toast(decision === 'approve' ? t('The call is allowed') : t('The call is denied'))
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    done()
  }
  const isOff = !live.reachable
  return html`<div class="row wrap end"><button type="button" class="btn bad" ?disabled=${isOff} aria-label=${t('Deny {tool}', { tool })} @click=${() => void decide('deny')}>${icon('x')}${t('Deny')}</button>
    ${
      rememberSeconds === undefined
        ? nothing
        : html`<button type="button" class="btn" ?disabled=${isOff} @click=${() => void decide('approve', true)}>${plural(Math.max(1, Math.round(rememberSeconds / 60)), 'Allow the same call for {n} minute', 'Allow the same call for {n} minutes')}</button>`
    }
    <button type="button" class="btn pri" ?disabled=${isOff} aria-label=${t('Allow once: {tool}', { tool })} @click=${() => void decide('approve')}>${icon('check')}${t('Allow once')}</button></div>`
}
