import type { MakePart } from 'patchbay/console'

/** Templates of servers and changes to another version. */
export const market: MakePart = ({ t }) => ({
  plugin: 'market',
  places: [
    {
      id: 'market',
      paths: ['/market', '/market/:id'],
      title: () => t('Market'),
      icon: 'store',
      rail: 'work',
      key: 'm',
      element: 'pb-page-market',
      load: () => import('./page.ts'),
    },
  ],
})
