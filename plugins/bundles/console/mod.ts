import type { MakePart } from 'patchbay/console'

/** The form of a bundle, a way to add a server. */
export const bundles: MakePart = ({ t }) => ({
  plugin: 'bundles',
  pieces: [
    {
      slot: 'add-server',
      id: 'bundle',
      title: () => t('Bundle'),
      page: 'bundles',
      element: 'pb-bundle-form',
      load: () => import('./form.ts'),
    },
  ],
})
