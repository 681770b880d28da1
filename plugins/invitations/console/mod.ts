import type { MakePart } from 'patchbay/console'

/** The user's invitations, and the page to which the link of one leads. */
export const invitations: MakePart = ({ t }) => ({
  plugin: 'invitations',
  places: [
    {
      id: 'invitations',
      paths: ['/invitations'],
      title: () => t('Invitations'),
      icon: 'link',
      within: 'servers',
      element: 'pb-page-invitations',
      load: () => import('./page.ts'),
    },
    {
      id: 'invite',
      paths: ['/invite'],
      title: () => t('Invitation'),
      icon: 'link',
      page: 'invitations',
      isBare: true,
      element: 'pb-invite',
      load: () => import('./invite.ts'),
    },
  ],
})
