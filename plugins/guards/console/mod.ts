import type { MakePart } from 'patchbay/console'

/** The page of rules about the content of calls. */
export const guards: MakePart = ({ t }) => ({
  plugin: 'guards',
  places: [
    {
      id: 'guards',
      paths: ['/guards'],
      title: () => t('Content rules'),
      icon: 'shield',
      rail: 'watch',
      element: 'pb-page-guards',
      load: () => import('./page.ts'),
    },
  ],
})
