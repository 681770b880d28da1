import { html, nothing } from 'lit'
import { type Column, type Crumb, emptyState, href, PbPage, Resource, show, t } from 'patchbay/console'
import { type Approval, approvalPath, approvalsApi } from './api.ts'
import { decisionCard, stateWord } from './decision.ts'

/** Calls that wait for a decision of the user, and those that were decided; with `id` in the path, one of them. */
class PbPageApprovals extends PbPage {
  readonly #list = new Resource<readonly Approval[]>(this, {
    key: () => this.params.id ?? '',
    read: async signal => {
      const { id } = this.params
      return id === undefined ? (await approvalsApi.list(signal)).items : [await approvalsApi.one(id, signal)]
    },
    topics: ['plugins'],
    apply: ({ event }) => (event.startsWith('approvals.') ? 'stale' : 'same'),
    everyMs: 15_000,
  })

  override crumbs(): readonly Crumb[] {
    const all = { label: t('Approvals'), path: '/approvals' }
    return this.params.id === undefined ? [all] : [all, { label: t('One call') }]
  }

  override content(): unknown {
    const reload = (): void => void this.#list.reload()
    return show(this.#list, items => {
      if (this.params.id !== undefined) return items.map(one => decisionCard(one, reload))
      const waiting = items.filter(({ mayDecide }) => mayDecide)
      const others = items.filter(({ mayDecide }) => !mayDecide)
      return html`${waiting.length === 0 ? none() : waiting.map(one => decisionCard(one, reload))}${others.length === 0 ? nothing : this.#table(others)}`
    })
  }

  #table(items: readonly Approval[]): unknown {
    return html`<h2 class="sech">${t('Earlier, and calls of yours')}</h2>
      <pb-table .rows=${items} .columns=${columns()} .keyOf=${(one: Approval) => one.id} .label=${t('Earlier, and calls of yours')}></pb-table>`
  }
}
customElements.define('pb-page-approvals', PbPageApprovals)

function columns(): readonly Column<Approval>[] {
  return [
    {
      id: 'tool',
      head: t('Tool'),
      cell: ({ id, tool, server, group = '' }) =>
        html`<a class="nm mono" href=${href(approvalPath(id))}>${tool}</a> <span class="s q">${(server ?? group).replace('~', ' / ')}</span>`,
    },
    { ...{ id: 'caller', head: t('Caller'), label: t('Caller') }, cell: ({ caller }) => caller },
    { ...{ id: 'state', head: t('State'), label: t('State') }, cell: one => stateWord(one) },
    {
      ...{ id: 'at', head: t('When'), label: t('When') },
      cell: ({ createdAt, decidedAt }) => html`<pb-time .at=${decidedAt ?? createdAt}></pb-time>`,
    },
  ]
}

function none(): unknown {
  return html`<section class="card">${emptyState({
    icon: 'circle-check',
    title: t('Nothing waits for you'),
    text: t('Calls that a rule of a server, a group or the hub stops are shown here until somebody decides.'),
  })}</section>`
}
