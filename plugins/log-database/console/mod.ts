import type { MakePart } from 'patchbay/console'

/** The page of stored log records, which the plugin that stores them has. */
export const logs: MakePart = ({ t }) => ({
  plugin: 'log-database',
  places: [
    {
      id: 'logs',
      paths: ['/logs'],
      title: () => t('Logs'),
      icon: 'scroll-text',
      rail: 'watch',
      order: -1,
      key: 'l',
      element: 'pb-page-logs',
      load: () => import('./page.ts'),
    },
  ],
})
