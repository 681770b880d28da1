import { html, nothing } from 'lit'
import type { Page } from '../../api/client.ts'
import { type AccessKey, type KeyScope, keysApi, type NewKey } from '../../api/keys.ts'
import { asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import type { PieceSubject } from '../../app/part.ts'
import { hasPage } from '../../app/plugin-pages.ts'
import { Resource } from '../../app/resource.ts'
import { href, router } from '../../app/router.ts'
import '../../app/rules.ts'
import { copyText } from '../../components/copy.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import type { Column, Sort } from '../../components/lists/table.ts'
import { PbPage } from '../../components/page.ts'
import { emptyState, errorText, show } from '../../components/states.ts'
import '../../components/lists/table.ts'
import '../../components/time.ts'
import { toast } from '../../components/layers/toast.ts'
import { formatDate, formatDateTime } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import './form.ts'

const UNUSED_MS = 90 * 86_400_000

/** The access keys: made, shown once, replaced, revoked. */
class PbPageKeys extends PbPage {
  static override properties = { ...PbPage.properties, fresh: { state: true } }
  /** A key whose secret is shown. */
  declare fresh: NewKey | undefined
  #release: (() => void) | undefined
  readonly #keys = new Resource<Page<AccessKey>>(this, { read: signal => keysApi.list(signal), everyMs: 30_000 })

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#release?.()
    this.fresh = undefined
  }

  override crumbs() {
    return [{ label: t('API keys') }]
  }

  override actions() {
    const apps = hasPage('apps')
      ? html`<a class="btn" href=${href('/apps')}>${icon('plug')}${t('Connected apps')}</a>`
      : nothing
    return html`${apps}<button type="button" class="btn ${this.#keys.data?.total === 0 ? '' : this.fresh ? '' : 'pri'}" @click=${() => this.setView({ new: '1' })}>${icon('plus')}${t('New key')}</button>`
  }

  override content() {
    return html`<p class="lede">${t('A key lets a client or a script use the hub as you, within the scopes you give it.')}</p>${this.fresh ? this.#secret(this.fresh) : nothing}${show(
      this.#keys,
      ({ items, total }) => (items.length === 0 ? this.#none() : this.#table(items, total)),
    )}<pb-key-form .open=${this.view('new') === '1'} .group=${this.view('group')} .server=${this.view('server')} @pb-close=${() => this.setView({ new: undefined, group: undefined, server: undefined })} @pb-made=${(event: CustomEvent<NewKey>) => this.#made(event.detail)}></pb-key-form>`
  }

  #none() {
    return html`<section class="card">${emptyState({
      icon: 'key-round',
      title: t('No keys yet'),
      text: t('Claude, Cursor or a script sends a key, and the hub knows that it is you.'),
      action: html`<button type="button" class="btn pri" @click=${() => this.setView({ new: '1' })}>${t('Make key')}</button>`,
    })}</section>`
  }

  #secret({ label, secret, scopes, expiresAt }: NewKey) {
    const until = expiresAt === undefined ? '' : ` ${t('until {date}', { date: formatDate(expiresAt) })}`
    return html`<section class="card keynew" aria-labelledby="kn" role="status"><div class="ch"><h2 id="kn">${icon('key-round')}${t('Your new key “{name}”', { name: label })}</h2><div class="r"><span class="tag warn">${icon('eye-off')}${t('Shown once')}</span></div></div>
      <div class="cb stack"><div class="keyline"><code class="keytext">${secret}</code><button type="button" class="btn pri" @click=${() => void copied(secret)}>${icon('copy')}${t('Copy')}</button></div>
      <div class="row wrap"><span class="s q">${t('Opens {what}{until}. When you leave this page the hub can no longer show it.', { what: scopeText(scopes), until })}</span><span class="push"><button type="button" class="btn" @click=${this.#stored}>${icon('check')}${t('I have stored it')}</button></span></div></div></section>`
  }

  #table(items: readonly AccessKey[], total: number) {
    return html`<pb-table .rows=${items} .columns=${this.#columns()} .keyOf=${(key: AccessKey) => key.id} .label=${t('API keys')} .sort=${this.#sort()} .foot=${
      total > items.length ? t('First {n} of {total}', { n: items.length, total }) : undefined
    } @pb-sort=${({ detail }: CustomEvent<Sort>) => this.setView({ sort: `${detail.down ? '-' : ''}${detail.by}` })}></pb-table>`
  }

  #sort(): Sort | undefined {
    const text = this.view('sort')
    return text === undefined ? undefined : { by: text.replace('-', ''), down: text.startsWith('-') }
  }

  #columns(): readonly Column<AccessKey>[] {
    const time = (at: string | undefined): number => (at === undefined ? 0 : Date.parse(at))
    return [
      {
        ...{ id: 'label', head: t('Label'), sort: ({ label }: AccessKey) => label },
        cell: key =>
          html`<span class="row wrap"><span class="nm">${key.label}</span>${
            isExpired(key)
              ? html`<span class="tag bad">${icon('circle-x')}${t('Expired')}</span>`
              : isUnused(key)
                ? html`<span class="tag warn">${icon('triangle-alert')}${t('Unused for 90 days')}</span>`
                : nothing
          }</span>`,
      },
      { id: 'key', head: t('Key'), class: 'mono q', cell: ({ last4 }) => `pb_…${last4}` },
      { id: 'scopes', head: t('May use'), label: t('May use'), class: 'full', cell: ({ scopes }) => scopeText(scopes) },
      {
        ...{
          id: 'used',
          head: t('Last used'),
          label: t('Last used'),
          sort: ({ lastUsedAt }: AccessKey) => time(lastUsedAt),
        },
        cell: ({ lastUsedAt }) =>
          lastUsedAt === undefined
            ? html`<span class="q">${t('never')}</span>`
            : html`<pb-time .at=${lastUsedAt}></pb-time>`,
      },
      {
        ...{
          id: 'expires',
          head: t('Expires'),
          label: t('Expires'),
          class: 'tn',
          sort: ({ expiresAt }: AccessKey) => time(expiresAt) || Number.MAX_SAFE_INTEGER,
        },
        cell: ({ expiresAt }) =>
          expiresAt === undefined
            ? t('no expiry')
            : html`<span title=${formatDateTime(expiresAt)}>${formatDate(expiresAt)}</span>`,
      },
      {
        ...{ id: 'acts', head: t('Actions'), quiet: true, class: 'full' },
        cell: key =>
          html`<span class="row end"><pb-rules .subject=${{ kind: 'key', ref: key.id, name: key.label } satisfies PieceSubject}></pb-rules><button type="button" class="btn sm" ?disabled=${!live.reachable} aria-label=${t('Rotate {name}', { name: key.label })} @click=${() => void this.#rotate(key)}>${t('Rotate')}</button>
          <button type="button" class="btn bad sm" ?disabled=${!live.reachable} aria-label=${t('Revoke {name}', { name: key.label })} @click=${() => void this.#revoke(key)}>${t('Revoke')}</button></span>`,
      },
    ]
  }

  #made(key: NewKey): void {
    this.#release?.()
    this.fresh = key
    this.#release = router.guard(() =>
      confirmed({
        title: t('Have you stored the key?'),
        text: t('When you leave, the hub can no longer show it.'),
        action: t('Leave'),
      }),
    )
    void this.#keys.reload()
    scrollTo(0, 0)
  }

  readonly #stored = (): void => {
    this.fresh = undefined
    this.#release?.()
    this.#release = undefined
  }

  async #rotate(key: AccessKey): Promise<void> {
    let overlapSeconds = 86_400
    const spans = [
      [0, t('at once')],
      [3600, t('in an hour')],
      [86_400, t('in a day')],
      [604_800, t('in a week')],
    ] as const
    const yes = await confirmed({
      ...{ title: t('Rotate key {name}?', { name: key.label }), action: t('Rotate key') },
      text: html`<p>${t('You get a new key with the same scopes. Until the old one ends both work, so that clients can be changed one by one.')}</p>
        <div class="field"><label class="lbl" for="overlap">${t('The old key ends')}</label><select id="overlap" class="in" @change=${(
          event: Event,
        ) => {
          overlapSeconds = Number((event.target as HTMLSelectElement).value)
        }}>${spans.map(([seconds, label]) => html`<option value=${seconds} ?selected=${seconds === overlapSeconds}>${label}</option>`)}</select></div>`,
      danger: false,
    })
    if (!yes) return
    try {
      this.#made(await keysApi.rotate(key.id, overlapSeconds))
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }

  async #revoke(key: AccessKey): Promise<void> {
    const yes = await confirmed({
      ...{ title: t('Revoke key {name}?', { name: key.label }), action: t('Revoke key'), typed: key.label },
      text: t(
        'Clients that use it are refused from now on; sessions that it opened end within 5 s. This cannot be undone.',
      ),
    })
    if (!yes) return
    try {
      await keysApi.delete(key.id)
      if (this.fresh?.id === key.id) this.#stored()
      toast(t('Key {name} revoked', { name: key.label }))
      await this.#keys.reload()
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-keys', PbPageKeys)

async function copied(secret: string): Promise<void> {
  toast(
    (await copyText(secret)) ? t('Copied') : t('This browser lets nothing be copied here. Select the text instead.'),
  )
}

function isExpired({ expiresAt }: AccessKey): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()
}

function isUnused({ createdAt, lastUsedAt }: AccessKey): boolean {
  return Date.now() - Date.parse(lastUsedAt ?? createdAt) > UNUSED_MS
}

/** Text for the scopes of a key. */
function scopeText(scopes: readonly KeyScope[]): string {
  return scopes.map(scopeWord).join(', ')
}

function scopeWord(scope: KeyScope): string {
  if (typeof scope === 'object') {
    return 'group' in scope ? t('group {name}', { name: scope.group }) : t('server {name}', { name: scope.server })
  }
  if (scope === 'mcp') return t('everything of mine over MCP')
  return scope === 'api' ? t('API') : t('API, read only')
}
