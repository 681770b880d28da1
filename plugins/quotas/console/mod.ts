import type { MakePart } from 'patchbay/console'

/** The page of what users have used of their quotas, and the quotas of servers, groups and keys. */
export const usage: MakePart = ({ t }) => ({
  plugin: 'quotas',
  places: [
    {
      id: 'usage',
      paths: ['/usage'],
      title: () => t('Usage'),
      icon: 'chart-column',
      rail: 'own',
      element: 'pb-page-usage',
      load: () => import('./page.ts'),
    },
  ],
  pieces: [
    {
      slot: 'server-rules',
      id: 'server-quotas',
      title: () => t('Quotas'),
      page: 'usage',
      element: 'pb-quotas',
      load: () => import('./quotas.ts'),
    },
    {
      slot: 'group-rules',
      id: 'group-quota',
      title: () => t('Quota'),
      page: 'usage',
      element: 'pb-quotas',
      load: () => import('./quotas.ts'),
    },
    {
      slot: 'key-rules',
      id: 'key-quota',
      title: () => t('Quota'),
      page: 'usage',
      element: 'pb-key-quota',
      load: () => import('./key-quota.ts'),
    },
  ],
})
