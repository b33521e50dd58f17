//% if load_a.form != "kept"
${ render("mma_operand_" ~ load_a.form, load=load_a, registers=a ~ at, tile=i, tiles=tiles_m.name, count=a_registers, q=q, row=row, col=col, k=k) }
//% endif
${ render("mma_operand_" ~ load_b.form, load=load_b, registers=b ~ at, tile=j, tiles=tiles_n.name, count=b_registers, q=q, row=row, col=col, k=k) }
