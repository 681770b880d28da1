import { html, nothing } from 'lit'
import type { Piece } from '../../app/part.ts'
import { pieceClosedBy, piecesOf } from '../../app/parts.ts'
import '../../app/piece-element.ts'
import { href } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { adminsOnly } from '../../components/admins-only.ts'
import { closedBy } from '../../components/closed-by.ts'
import { type Crumb, PbPage } from '../../components/page.ts'
import { t } from '../../text/t.ts'
import './moving.ts'
import './own.ts'
import './system.ts'

interface Section {
  readonly id: string
  readonly label: () => string
  readonly admin?: true
}

const SECTIONS: readonly Section[] = [
  { id: 'profile', label: () => t('Profile and password') },
  { id: 'hosted-keys', label: () => t('Hosted keys') },
  { id: 'appearance', label: () => t('Appearance and keys') },
  { id: 'limits', label: () => t('Your limits') },
  { id: 'moving', label: () => t('Export and import') },
  { id: 'hub', label: () => t('General'), admin: true },
  { id: 'logs', label: () => t('Logs and sinks'), admin: true },
  { id: 'raw', label: () => t('All as JSON'), admin: true },
]

/** One's own settings, and for administrators those of the hub with the source of each. */
export class PbPageSettings extends PbPage {
  override crumbs(): readonly Crumb[] {
    return [{ label: t('Settings') }]
  }

  override content(): unknown {
    const present = this.params.section ?? 'profile'
    const [first, ...others] = SECTIONS.filter(({ admin }) => !admin)
    const pieces = piecesOf('settings')
    const own = [first, ...pieces.map(sectionOf), ...others].filter(section => section !== undefined)
    const piece = pieces.find(({ id }) => id === present)
    const closed = pieceClosedBy('settings', present)
    const hub = SECTIONS.filter(({ admin }) => admin)
    const list = (sections: readonly Section[]): unknown =>
      html`<ul>${sections.map(
        ({ id, label }) =>
          html`<li><a href=${href(`/settings/${id}`)} aria-current=${id === present ? 'page' : nothing}>${label()}</a></li>`,
      )}</ul>`
    return html`<div class="setg"><nav class="setnav" aria-label=${t('Sections')}><p class="xs q">${t('Personal')}</p>${list(own)}${session.isAdmin ? html`<p class="xs q">${t('Hub')}</p>${list(hub)}` : nothing}</nav>
      <div class="stack">${closed ? closedBy(closed) : piece ? html`<pb-piece .piece=${piece}></pb-piece>` : sectionContent(present, own)}</div></div>`
  }
}

function sectionContent(present: string, own: readonly Section[]): unknown {
  if (present === 'moving') return html`<pb-moving></pb-moving>`
  if (own.some(({ id }) => id === present)) return html`<pb-own-settings .section=${present}></pb-own-settings>`
  return session.isAdmin ? html`<pb-system-settings .section=${present}></pb-system-settings>` : adminsOnly()
}

function sectionOf({ id, title }: Piece): Section {
  return { id, label: title }
}

customElements.define('pb-page-settings', PbPageSettings)

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-settings': PbPageSettings
  }
}
