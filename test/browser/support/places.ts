/** A page of the console in one of its states. */
export interface Place {
  readonly path: string
  /** Selector of an element that the page shows when it is drawn. */
  readonly sign: string
  /**
   * Checked for one thing only: by axe, because its words come from a server or from queries; for its words, because the page
   * is like another one.
   */
  readonly only?: 'axe' | 'words'
}

/** Every page, with layers open, of the hub that every-page.test.ts starts. */
export const PLACES: readonly Place[] = [
  { path: '/', sign: '.tiles .tile' },
  { path: '/?tab=new', sign: '#board-name', only: 'axe' },
  { path: '/?tab=system-overview', sign: '.wmetric .stat', only: 'words' },
  { path: '/?tab=server-status', sign: '.wtable td', only: 'words' },
  { path: '/?tab=request-analysis', sign: '.wtable td', only: 'words' },
  { path: '/?tab=error-tracking', sign: '.wtable', only: 'words' },
  { path: '/?tab=user-activity', sign: '.wtable td', only: 'words' },
  { path: '/servers', sign: 'tr[data-key="admin~echo"]' },
  { path: '/servers/new', sign: '#pasted' },
  { path: '/servers/admin~echo', sign: '.minis', only: 'words' },
  { path: '/servers/admin~everything', sign: '.minis', only: 'axe' },
  { path: '/servers/admin~gone', sign: '.callout.bad' },
  { path: '/servers/admin~echo?tab=tools&tool=echo', sign: 'pb-try-tool', only: 'words' },
  { path: '/servers/admin~everything?tab=tools', sign: 'pb-try-tool', only: 'axe' },
  { path: '/servers/admin~everything?tab=resources', sign: '.parts', only: 'axe' },
  { path: '/servers/admin~echo?tab=logs', sign: '.loglist', only: 'words' },
  { path: '/servers/admin~everything?tab=logs', sign: '.loglist', only: 'axe' },
  { path: '/servers/admin~echo?tab=metrics', sign: 'pb-server-metrics h2', only: 'words' },
  { path: '/servers/admin~everything?tab=metrics', sign: 'pb-server-metrics h2', only: 'axe' },
  { path: '/servers/admin~own?tab=settings', sign: 'pb-schema-form .field' },
  { path: '/servers/admin~echo?tab=access', sign: 'pb-server-access .card', only: 'words' },
  { path: '/servers/admin~everything?tab=access', sign: 'pb-server-access .card', only: 'axe' },
  { path: '/groups', sign: 'tr[data-key]' },
  { path: '/groups?view=bay', sign: 'pb-patch-bay .baycard .ch' },
  { path: '/groups?view=bay&bay=strips', sign: 'pb-patch-bay .strip' },
  { path: '/groups?view=bay&bay=table', sign: '.tw table.cards' },
  { path: '/groups/admin~team', sign: '.wrapx' },
  { path: '/groups/admin~team?tab=tools', sign: 'pb-group-tools pb-try-tool', only: 'axe' },
  { path: '/groups/admin~team?connect=cursor', sign: 'pb-connect .connect-text', only: 'axe' },
  { path: '/market', sign: '.mcard', only: 'axe' },
  { path: '/market?drawer=sources', sign: 'wa-drawer .list li' },
  { path: '/market/bundled:airtable', sign: '#install-name' },
  { path: '/logs?q=echo', sign: 'tr[data-key]' },
  { path: '/logs?q=nothing-like-this', sign: '.empty' },
  { path: '/monitoring', sign: 'pb-chart h2' },
  { path: '/invitations?thing=server:admin~echo', sign: '#inv-role', only: 'words' },
  { path: '/alerts', sign: '.card, .empty' },
  { path: '/alerts?tab=rules', sign: '.list li' },
  { path: '/alerts?tab=channels', sign: '.list li' },
  { path: '/alerts?tab=history', sign: 'pb-alerts-history tbody tr' },
  { path: '/alerts/channels/admin~own', sign: '#cfg-url', only: 'axe' },
  { path: '/alerts/channels/new', sign: '#cfg-url', only: 'words' },
  { path: '/alerts?tab=silences', sign: 'form, .empty' },
  { path: '/alerts/rules/new', sign: '#rule-expression' },
  { path: '/guards', sign: '.empty', only: 'words' },
  { path: '/guards?drawer=new', sign: '#guard-id' },
  { path: '/assistant', sign: '.ep' },
  { path: '/keys', sign: 'td .nm' },
  { path: '/keys?new=1', sign: '#key-label', only: 'axe' },
  { path: '/settings', sign: '#current' },
  { path: '/settings/hosted-keys', sign: '.list li' },
  { path: '/settings/appearance', sign: '#theme' },
  { path: '/settings/limits', sign: 'td code' },
  { path: '/settings/hub', sign: '.setrow' },
  { path: '/settings/logs', sign: 'td .nm' },
  { path: '/settings/raw', sign: 'pre.code', only: 'axe' },
  { path: '/admin/users', sign: 'td .nm', only: 'axe' },
  { path: '/admin/users?drawer=new', sign: '#new-name' },
  { path: '/admin/teams', sign: '.empty', only: 'words' },
  { path: '/admin/plugins', sign: 'td .nm', only: 'axe' },
  { path: '/admin/plugins?plugin=hosted-keys', sign: 'wa-drawer h2' },
  { path: '/admin/audit', sign: 'td code' },
  { path: '/reference', sign: '.apilist details' },
  { path: '/no/such/page', sign: '.empty' },
]
