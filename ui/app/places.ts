import { t } from '../text/t.ts'
import type { PlaceDefinition } from './part.ts'
import { parts } from './parts.ts'
import { pluginPages } from './plugin-pages.ts'

/** The console's own pages. */
const OWN: readonly PlaceDefinition[] = [
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
    id: 'teams',
    paths: ['/admin/teams'],
    title: () => t('Teams'),
    icon: 'users-round',
    rail: 'admin',
    adminOnly: true,
    element: 'pb-page-teams',
    load: () => import('../pages/teams/page.ts'),
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

interface KnownPlace {
  readonly place: PlaceDefinition
  /** Undefined for the console's own pages. */
  readonly plugin: string | undefined
}

const places: readonly KnownPlace[] = [
  ...OWN.map(place => ({ place, plugin: undefined })),
  ...parts.flatMap(({ plugin, places = [] }) => places.map(place => ({ place, plugin }))),
]

/** The pages that the console has now; those of plugins too while it is not known which run. */
export function placesNow(): readonly PlaceDefinition[] {
  return places.filter(isOpen).map(({ place }) => place)
}

function isOpen({ place: { id, page = id }, plugin }: KnownPlace): boolean {
  return plugin === undefined || pluginPages.has(page)
}

/** A place that matches a path, with the parameters of the path. */
export interface Match {
  readonly place: PlaceDefinition
  readonly params: Readonly<Record<string, string>>
  /** The plugin of the place, which does not run. */
  readonly closedBy?: string
}

const patterns = places
  .flatMap(known => known.place.paths.map(path => ({ known, pattern: new URLPattern({ pathname: path }) })))
  .sort((left, right) => parameters(left.pattern) - parameters(right.pattern))

function parameters({ pathname }: URLPattern): number {
  return pathname.split(':').length
}

/** The page of a path; undefined if there is none. */
export function placeOf(path: string): Match | undefined {
  for (const { known, pattern } of patterns) {
    const found = pattern.exec({ pathname: path })
    if (!found) continue
    const { place, plugin } = known
    const params: Record<string, string> = {}
    for (const [name, value] of Object.entries(found.pathname.groups)) params[name] = decodeURIComponent(value ?? '')
    return { place, params, ...(plugin === undefined || isOpen(known) ? {} : { closedBy: plugin }) }
  }
  return undefined
}
