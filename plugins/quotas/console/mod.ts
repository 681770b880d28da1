import type { MakePart } from 'patchbay/console'

/** Calls of the user, and quotas. */
export const quotas: MakePart = ({ t }) => ({
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
