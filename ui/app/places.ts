import { t } from '../text/t.ts'
import { pluginPages } from './plugin-pages.ts'

/** Parts of the rail, from top to bottom; plugins' pages precede administration. */
export type RailPart = 'work' | 'watch' | 'own' | 'admin'

/** A page of the console. */
export interface PlaceDefinition {
  readonly id: string
  /** Paths below the base path, the first without parameters being its link: `/servers`, `/servers/:ref`. */
  readonly paths: readonly string[]
  readonly title: () => string
  readonly icon: string
  /** Absent: reached by links alone. */
  readonly rail?: RailPart
  /** The place in the rail that is marked instead of this one. */
  readonly within?: string
  readonly adminOnly?: true
  /** It belongs to a plugin, and is shown only while the plugin runs. */
  readonly ofPlugin?: true
  /** It is shown without the frame, as the end of a link from elsewhere. */
  readonly isBare?: true
  /** Second key behind `g`. */
  readonly key?: string
  /** Name of the page's element. */
  readonly element: string
  readonly load: () => Promise<unknown>
}

/** All pages. */
const PLACES: readonly PlaceDefinition[] = [
  {
    id: 'dashboard',
    paths: ['/'],
    title: () => t('Dashboard'),
    icon: 'gauge',
    rail: 'work',
    key: 'd',
    element: 'pb-page-dashboard',
    load: () => import('../pages/dashboard/page.ts'),
  },
  {
    id: 'servers',
    paths: ['/servers'],
    title: () => t('Servers'),
    icon: 'server',
    rail: 'work',
    key: 's',
    element: 'pb-page-servers',
    load: () => import('../pages/servers/page.ts'),
  },
  {
    id: 'add-server',
    paths: ['/servers/new'],
    title: () => t('Add server'),
    icon: 'plus',
    within: 'servers',
    element: 'pb-page-add-server',
    load: () => import('../pages/add-server/page.ts'),
  },
  {
    id: 'server',
    paths: ['/servers/:ref'],
    title: () => t('Server'),
    icon: 'server',
    within: 'servers',
    element: 'pb-page-server',
    load: () => import('../pages/server/page.ts'),
  },
  {
    id: 'groups',
    paths: ['/groups'],
    title: () => t('Groups'),
    icon: 'cable',
    rail: 'work',
    key: 'g',
    element: 'pb-page-groups',
    load: () => import('../pages/groups/page.ts'),
  },
  {
    id: 'group',
    paths: ['/groups/new', '/groups/:ref'],
    title: () => t('Group'),
    icon: 'cable',
    within: 'groups',
    element: 'pb-page-group',
    load: () => import('../pages/group/page.ts'),
  },
  {
    id: 'market',
    paths: ['/market', '/market/:id'],
    title: () => t('Market'),
    icon: 'store',
    rail: 'work',
    key: 'm',
    ofPlugin: true,
    element: 'pb-page-market',
    load: () => import('../pages/market/page.ts'),
  },
  {
    id: 'logs',
    paths: ['/logs'],
    title: () => t('Logs'),
    icon: 'scroll-text',
    rail: 'watch',
    key: 'l',
    element: 'pb-page-logs',
    load: () => import('../pages/logs/page.ts'),
  },
  {
    id: 'monitoring',
    paths: ['/monitoring'],
    title: () => t('Monitoring'),
    icon: 'chart-line',
    rail: 'watch',
    key: 'o',
    element: 'pb-page-monitoring',
    load: () => import('../pages/monitoring/page.ts'),
  },
  {
    id: 'alerts',
    paths: ['/alerts', '/alerts/rules/:ref', '/alerts/channels/:ref'],
    title: () => t('Alerts'),
    icon: 'bell',
    rail: 'watch',
    key: 'a',
    element: 'pb-page-alerts',
    load: () => import('../pages/alerts/page.ts'),
  },
  {
    id: 'assistant',
    paths: ['/assistant', '/assistant/:ref'],
    title: () => t('Assistant'),
    icon: 'audio-lines',
    rail: 'own',
    element: 'pb-page-assistant',
    load: () => import('../pages/assistant/page.ts'),
  },
  {
    id: 'keys',
    paths: ['/keys'],
    title: () => t('API keys'),
    icon: 'key',
    rail: 'own',
    element: 'pb-page-keys',
    load: () => import('../pages/keys/page.ts'),
  },
  {
    id: 'apps',
    paths: ['/apps'],
    title: () => t('Connected apps'),
    icon: 'plug',
    within: 'keys',
    element: 'pb-page-apps',
    load: () => import('../pages/apps/page.ts'),
  },
  {
    id: 'clients',
    paths: ['/admin/clients'],
    title: () => t('Apps of all users'),
    icon: 'plug',
    within: 'keys',
    adminOnly: true,
    element: 'pb-page-clients',
    load: () => import('../pages/apps/clients.ts'),
  },
  {
    id: 'consent',
    paths: ['/consent'],
    title: () => t('Connect an app'),
    icon: 'plug',
    isBare: true,
    element: 'pb-consent',
    load: () => import('../pages/consent/page.ts'),
  },
  {
    id: 'connections',
    paths: ['/connections'],
    title: () => t('Sign-ins at servers'),
    icon: 'key',
    within: 'servers',
    ofPlugin: true,
    element: 'pb-page-connections',
    load: () => import('../pages/connections/page.ts'),
  },
  {
    id: 'connect',
    paths: ['/connect/:id'],
    title: () => t('Sign in at a server'),
    icon: 'key',
    isBare: true,
    element: 'pb-connect-server',
    load: () => import('../pages/connections/connect.ts'),
  },
  {
    id: 'callback',
    paths: ['/oauth/callback'],
    title: () => t('Sign in at a server'),
    icon: 'key',
    isBare: true,
    element: 'pb-callback',
    load: () => import('../pages/connections/callback.ts'),
  },
  {
    id: 'approvals',
    paths: ['/approvals', '/approvals/:id'],
    title: () => t('Approvals'),
    icon: 'hand',
    rail: 'watch',
    ofPlugin: true,
    element: 'pb-page-approvals',
    load: () => import('../pages/approvals/page.ts'),
  },
  {
    id: 'usage',
    paths: ['/usage'],
    title: () => t('Usage'),
    icon: 'gauge',
    rail: 'own',
    ofPlugin: true,
    element: 'pb-page-usage',
    load: () => import('../pages/usage/page.ts'),
  },
  {
    id: 'settings',
    paths: ['/settings', '/settings/:section'],
    title: () => t('Settings'),
    icon: 'settings-2',
    rail: 'own',
    element: 'pb-page-settings',
    load: () => import('../pages/settings/page.ts'),
  },
  {
    id: 'users',
    paths: ['/admin/users'],
    title: () => t('Users'),
    icon: 'users',
    rail: 'admin',
    adminOnly: true,
    element: 'pb-page-users',
    load: () => import('../pages/users/page.ts'),
  },
  {
    id: 'plugins',
    paths: ['/admin/plugins', '/admin/plugins/:name'],
    title: () => t('Plugins'),
    icon: 'blocks',
    rail: 'admin',
    adminOnly: true,
    element: 'pb-page-plugins',
    load: () => import('../pages/plugins/page.ts'),
  },
  {
    id: 'audit',
    paths: ['/admin/audit'],
    title: () => t('Audit'),
    icon: 'history',
    rail: 'admin',
    adminOnly: true,
    element: 'pb-page-audit',
    load: () => import('../pages/audit/page.ts'),
  },
  {
    id: 'plugin-page',
    paths: ['/x/:plugin/:page'],
    title: () => t('Page of a plugin'),
    icon: 'puzzle',
    element: 'pb-page-plugin',
    load: () => import('../pages/plugin-page/page.ts'),
  },
  {
    id: 'reference',
    paths: ['/reference'],
    title: () => t('API reference'),
    icon: 'book-open',
    element: 'pb-page-reference',
    load: () => import('../pages/reference/page.ts'),
  },
]

/** The pages that the console has now; those of plugins too while it is not known which run. */
export function placesNow(): readonly PlaceDefinition[] {
  return PLACES.filter(isOpen)
}

function isOpen({ id, ofPlugin }: PlaceDefinition): boolean {
  return !ofPlugin || pluginPages.has(id)
}

/** A place that matches a path, with the parameters of the path. */
export interface Match {
  readonly place: PlaceDefinition
  readonly params: Readonly<Record<string, string>>
}

const patterns = PLACES.flatMap(place =>
  place.paths.map(path => ({ place, pattern: new URLPattern({ pathname: path }) })),
).sort((left, right) => parameters(left.pattern) - parameters(right.pattern))

function parameters({ pathname }: URLPattern): number {
  return pathname.split(':').length
}

/** The page of a path; undefined if there is none. */
export function placeOf(path: string): Match | undefined {
  for (const { place, pattern } of patterns) {
    const found = pattern.exec({ pathname: path })
    if (!found || !isOpen(place)) continue
    const params: Record<string, string> = {}
    for (const [name, value] of Object.entries(found.pathname.groups)) params[name] = decodeURIComponent(value ?? '')
    return { place, params }
  }
  return undefined
}
