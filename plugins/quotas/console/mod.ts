import type { MakePart } from 'patchbay/console'

/** The page of what users have used of their quotas, and the quotas of servers, groups, keys, clients and users. */
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
    ...(['key-rules', 'grant-rules', 'user-rules'] as const).map(slot => ({
      ...{ slot, id: slot.replace('rules', 'quota'), title: () => t('Quota'), page: 'usage', element: 'pb-one-quota' },
      load: () => import('./one-quota.ts'),
    })),
  ],
})
