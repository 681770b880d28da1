import type { MakePart } from 'patchbay/console'

/** The page of what users have used of their quotas. */
export const usage: MakePart = ({ t }) => ({
  plugin: 'quotas',
  places: [
    {
      id: 'usage',
      paths: ['/usage'],
      title: () => t('Usage'),
      icon: 'gauge',
      rail: 'own',
      element: 'pb-page-usage',
      load: () => import('./page.ts'),
    },
  ],
})
