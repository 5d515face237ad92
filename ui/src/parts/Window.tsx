import type { ReactNode } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

interface Props {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  role?: "dialog" | "alertdialog";
  children: ReactNode;
}

/** A window over the page: Escape and a click outside close it, and the focus returns to where it was. */
export function Window({ title, isOpen, onClose, role = "dialog", children }: Props) {
  return (
    <ModalOverlay className="veil" isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable>
      <Modal className="window">
        <Dialog role={role}>
          <Heading slot="title">{title}</Heading>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
